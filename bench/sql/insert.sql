INSERT INTO bench_job (lane, priority, status, epoch, work, created) VALUES (?1, ?2, 0, 0, ?3, ?4)
