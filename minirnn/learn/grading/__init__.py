"""Grading: from what students handed in to what a teacher enters, a subject a file.

- `collecting`, `archive`, `folder` and `notebook` read a submission, whatever it is, within bounds; `handed` is what is left;
- `task` grades one submission: the unit of work, which any executor can send to any machine; `courses` goes along;
- `students` tells students apart by a roster, a pattern or the names of the submissions;
- `run` grades many, `journal` keeps every grade on the disk, `progress` says how long it will take;
- `late` and `overrides` are what teachers decide after the machine; `regrade` compares with an earlier run;
- `statistics`, `statistics_picture` and `similarity` look at the whole class; `stamp` says what graded.
"""
