"""recorded-app: linear regression of one row a client, with every message recorded."""
