/** Preloaded into a process whose clock is to be wrong, threads included: `Date.now` is off by CLOCK_OFFSET_MS. */
const offsetMs = Number(process.env.CLOCK_OFFSET_MS ?? 0);
const trueNow = Date.now.bind(Date);
Date.now = () => trueNow() + offsetMs;
