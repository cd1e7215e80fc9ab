// `npm run bench`: builds, then measures. Kept apart so that the measurement itself imports nothing it does not measure.
import './build.mjs';

await import('../bench/bench.mjs');
