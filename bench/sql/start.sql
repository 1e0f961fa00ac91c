UPDATE bench_job SET status = 2, started = ?3 WHERE id = ?1 AND epoch = ?2 AND status = 1
