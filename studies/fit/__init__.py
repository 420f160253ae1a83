"""Does `rffbench fit` advise well? Eight tables, against what an hour finds, and what a careful person does."""
