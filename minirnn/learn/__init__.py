"""The course: exercises that students solve, checks that say what is wrong, grades, and a pytest plugin.

`minirnn learn`, `check`, `hint`, `show`, `reset`, `grade` and `course` are its commands. These are its modules:

- `formulas/` has the backward formulas, and `hypotheses/` the ways to get them wrong;
- `exercise` defines what an exercise is, `catalog/` lists all of them, and `course` makes a course of them;
- `check`, `calls`, `cuda_kernels`, `testers`, `judge` and `diagnose` run an answer, compare it and explain it;
- `sandbox/` is the process in which an answer runs;
- `grading/`, `reports/`, `export` and `verify` are for teachers;
- `plugin` is for pytest; `watch`, `text` and `picture` show results to a student.
"""
