/** The user's jobs module: an alias that whoever bundles points to the file. */
declare module 'leasehold-jobs-module';
