# Installs minirnn where it is missing: from the clone that this notebook lies in, or else from the package index.
try:
    import minirnn
except ImportError:
    import importlib
    import pathlib
    import subprocess
    import sys

    here = pathlib.Path.cwd()
    clone = next((f for f in (here, *here.parents) if (f / "minirnn" / "__init__.py").exists()), None)
    what = ["minirnn"] if clone is None else ["-e", str(clone)]
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", *what], check=True)
    importlib.invalidate_caches()
    if clone is not None:  # a Python that runs already does not see an editable installation
        sys.path.insert(0, str(clone))
    import minirnn

print("minirnn", minirnn.__version__)
