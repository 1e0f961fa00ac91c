-- How far jobs of a spec are kept from their host, at least: a level by name. Null asks for no more than `sandbox` does.
ALTER TABLE spec ADD COLUMN isolation TEXT;
