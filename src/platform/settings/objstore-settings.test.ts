import { expect, test } from 'vitest';
import { ObjstoreSettings } from './objstore-settings.js';

test('only the bucket is required', () => {
  expect(ObjstoreSettings.parse({ objstoreBucket: 'logs' })).toMatchObject({
    region: 'us-east-1',
    objstoreKeyFormat: '%requestId/%Y/%m/%taskId_%index-%s-%filename',
    objstoreUploaderAdditionalFiles: [{ filename: 'service.log' }],
    maxObjstoreThreads: 3,
    expireObjstoreLinksAfterMillis: 86_400_000,
  });
});

test.each([
  { name: 'no bucket', changes: { objstoreBucket: undefined }, at: 'objstoreBucket' },
  { name: 'one key without the other', changes: { objstoreAccessKey: 'x' }, at: '' },
  {
    name: 'the same of a group',
    changes: { groupOverrides: { a: { objstoreBucket: 'b', objstoreSecretKey: 'x' } } },
    at: 'groupOverrides.a',
  },
  { name: 'a pattern that mixes requests', changes: { objstoreKeyFormat: '%Y/%filename' }, at: 'objstoreKeyFormat' },
  { name: 'one whose request has no end', changes: { objstoreKeyFormat: '%requestId.%s' }, at: 'objstoreKeyFormat' },
  {
    name: 'a file below what may be the name of a request',
    changes: {
      objstoreUploaderAdditionalFiles: ['a.log', { filename: 'b', objstoreUploaderKeyPattern: 'b/%requestId/%s' }],
    },
    at: 'objstoreUploaderAdditionalFiles.1.objstoreUploaderKeyPattern',
  },
  {
    name: 'links that stores would refuse',
    changes: { expireObjstoreLinksAfterMillis: 8 * 86_400_000 },
    at: 'expireObjstoreLinksAfterMillis',
  },
  { name: 'an endpoint that is no address', changes: { endpoint: 'store:9000' }, at: 'endpoint' },
])('$name is refused', ({ changes, at }) => {
  const { error } = ObjstoreSettings.safeParse({ objstoreBucket: 'logs', ...changes });
  expect(error?.issues.map((issue) => issue.path.join('.'))).toEqual([at]);
});
