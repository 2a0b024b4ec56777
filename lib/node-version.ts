/** Imported first by every entry, so that an old Node says one sentence instead of failing somewhere inside. */
const OLDEST = [22, 18] as const;

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]))
  throw new Error(
    `leasehold needs Node ${OLDEST.join('.')} or newer, and this is Node ${process.versions.node}. Install a newer one from https://nodejs.org`,
  );
