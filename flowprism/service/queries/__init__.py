"""What is known, as documents, for those who may know it: one module a subject, for the API and for the dashboard."""
