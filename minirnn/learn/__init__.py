"""The course: exercises that students solve, checks that say what is wrong, grades, and a pytest plugin.

`minirnn learn`, `check`, `hint`, `show`, `reset`, `grade` and `course` are its commands. These are its modules:

- `formula` and `formulas/` hold backward formulas as data, and every way to get a term wrong;
- `exercise`, `catalog/` and `course` say what an exercise is, which there are, and make a course of them;
- `check`, `calls`, `cuda_kernels`, `testers`, `judge` and `diagnose` run an answer, compare it and explain it;
- `sandbox/` is the process in which an answer runs;
- `grading/`, `reports/`, `export` and `verify` are for teachers;
- `plugin` is for pytest; `watch`, `text` and `picture` make what a student sees.
"""
