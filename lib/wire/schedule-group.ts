const LONGEST = 64;

/** The EventBridge Scheduler group of a deployment: its service name, within the limits of a group name. */
export const scheduleGroupOf = (serviceName: string): string =>
  serviceName.replace(/[^0-9A-Za-z_.-]/g, '-').slice(-LONGEST);
