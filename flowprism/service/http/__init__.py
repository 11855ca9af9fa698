"""What the API and access control share: routes by name, responses, query parameters, problem documents."""
