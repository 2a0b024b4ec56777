import { Template } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, it } from 'vitest';
import { ShopStack } from '../../examples/existing-app/shop-stack.ts';
import { permissionsOf } from './policies.ts';
import { flat, newApp, withoutValidation } from './support.ts';

withoutValidation();

describe('the construct in an app that is there already', () => {
  let template: Template;
  beforeAll(() => {
    template = Template.fromStack(new ShopStack(newApp(), 'Shop'));
  });

  const variables = (id: RegExp): Record<string, string> => {
    const [, found] =
      Object.entries(template.findResources('AWS::Lambda::Function')).find(([key]) => id.test(key)) ?? [];
    return (flat(found?.Properties.Environment) as { Variables: Record<string, string> }).Variables;
  };

  it('gives the shop’s own worker its variables', () => {
    expect(variables(/InvoicesWorker/)).toMatchObject({
      MAIL_URL: 'https://mail.example.com/send',
      LEASEHOLD_SERVICE_NAME: 'Shop-Invoices',
      LEASEHOLD_FUNCTION_TIMEOUT_MS: '60000',
    });
  });

  it('lets the function of orders send, and nothing else', () => {
    expect(permissionsOf(template, /^OrdersServiceRole/)).toEqual([
      expect.stringMatching(/^sqs:GetQueueUrl on <InvoicesQueue/),
      expect.stringMatching(/^sqs:SendMessage on <InvoicesQueue/),
    ]);
    expect(variables(/^Orders/).LEASEHOLD_QUEUE_URL).toMatch(/^<InvoicesQueue/);
  });

  it('tells the people on call of failed invoices, and of the alarms', () => {
    template.hasResourceProperties('AWS::Events::Rule', {
      EventPattern: {
        source: ['leasehold'],
        'detail-type': ['JobFailed'],
        detail: { service: ['Shop-Invoices'], type: ['send-invoice'] },
      },
    });
    const alarms = Object.entries(template.findResources('AWS::CloudWatch::Alarm'));
    const ours = alarms.filter(([id]) => id.startsWith('InvoicesAlarms'));
    expect(ours).not.toEqual([]);
    for (const [, { Properties }] of ours) expect(Properties.AlarmActions).toHaveLength(1);
  });
});
