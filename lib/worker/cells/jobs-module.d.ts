/** Alias for the user's jobs module, resolved by the bundler. */
declare module 'leasehold-jobs-module';
