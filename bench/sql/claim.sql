UPDATE bench_job SET status = 1, epoch = epoch + 1, runner = ?2, claimed = ?3
WHERE id = (
    SELECT id FROM bench_job WHERE lane = ?1 AND status = 0 ORDER BY priority DESC, created, id LIMIT 1
)
RETURNING id, epoch
