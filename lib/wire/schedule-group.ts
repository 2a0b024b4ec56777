const LONGEST = 64;

/** The group of EventBridge Scheduler that holds a deployment's schedules: its service name, as far as a name may be so. */
export const scheduleGroupOf = (serviceName: string): string =>
  serviceName.replace(/[^0-9A-Za-z_.-]/g, '-').slice(-LONGEST);
