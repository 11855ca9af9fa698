"""The collector: a supervisor, and for each worker a process that receives and one that decodes and stores."""
