"""The course: exercises that students solve, checks that say what is wrong, grades, and a pytest plugin.

`minirnn learn`, `check`, `hint`, `show`, `reset`, `grade` and `course` are its commands. Of its modules,

- `formula`, `formulas/`: backward formulas as data, and every way to get a term wrong;
- `exercise`, `catalog/`, `course`: what an exercise is, all there are, a course made of them;
- `check`, `calls`, `kernels`, `testers`, `judge`, `diagnose`: an answer is run, compared, and explained;
- `sandbox`, `child`, `child_cuda`, `locks`, `protocol`, `given`: the process in which an answer runs;
- `grade`, `reports/`, `export`, `verify`: for teachers;
- `plugin`: for pytest; `watch`, `text`, `picture`: what a student sees.
"""
