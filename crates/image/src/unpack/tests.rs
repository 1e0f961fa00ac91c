mod hostile;
mod limits;
mod merge;
