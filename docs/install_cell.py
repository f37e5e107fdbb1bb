# Finds minirnn. Where it is missing: installs the clone that contains this notebook, or says what to do.
REPOSITORY = ""
try:
    import minirnn
except ImportError:
    import importlib
    import pathlib
    import subprocess
    import sys

    here = pathlib.Path.cwd()
    clone = next((f for f in (here, *here.parents) if (f / "minirnn" / "__init__.py").exists()), None)
    if clone is None and not REPOSITORY:  # an index may have another package of this name
        raise ModuleNotFoundError(
            "minirnn is not installed, and this notebook is not in a clone of it.\n"
            "Install your clone, then run this cell again:\n"
            f"  {sys.executable} -m pip install -e PATH/TO/THE/CLONE"
        ) from None
    what = [f"minirnn @ git+{REPOSITORY}"] if clone is None else ["-e", str(clone)]
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", *what], check=True)
    importlib.invalidate_caches()
    if clone is not None:  # a Python that runs already does not see an editable installation
        sys.path.insert(0, str(clone))
    import minirnn

print("minirnn", minirnn.__version__)
