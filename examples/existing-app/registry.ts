import { createRegistry } from 'leasehold';
import { sendInvoice } from './send-invoice.ts';

/** Every job type of the shop: one line each. */
export const registry = createRegistry([sendInvoice]);
