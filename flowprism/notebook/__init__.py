"""What `import flowprism` offers to notebooks: analyses as data frames and graphs, flow records as Arrow batches."""
