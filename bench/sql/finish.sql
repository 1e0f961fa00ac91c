UPDATE bench_job SET status = 3, ended = ?3 WHERE id = ?1 AND epoch = ?2 AND status = 2
