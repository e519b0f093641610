-- SPDX-License-Identifier: MIT
-- The version of the tables, and that of the functions (code).  A change of a
-- function adds 1 to the code, here and in postgres.h (SCHEMA_CODE).

INSERT INTO weir.meta (version, code) VALUES (1, 3)
	ON CONFLICT (one) DO UPDATE SET code = excluded.code;
