import type { Operations } from './operations.js';

/** Lets the caller that sends it make tokens for others. */
const firstToken = 'the-first-token-of-this-installation';
const bearing = (token: string) => ({ Authorization: `Token ${token}` });

/** Every caller has to say who it is; members of ops are administrators. */
export const guarded = {
  settings: { auth: { enabled: true, adminGroups: ['ops'], bootstrapToken: firstToken, tokenHashIterations: 1_000 } },
};
export const asFirst = bearing(firstToken);
/** An administrator. */
export const ann = { id: 'ann', name: 'ann', email: 'ann@example.com', groups: ['ops'] };
export const asAnn = bearing('the-token-that-ann-has-chosen');
/** A member of the group web, and of nothing else. */
export const bob = { id: 'bob', name: 'bob', email: 'bob@example.com', groups: ['web'] };
export const asBob = bearing('the-token-that-bob-has-chosen');
export const asNobody = { Authorization: 'Token that-nobody-was-given' };

/** Ann and Bob get their tokens. */
export async function introduce(operations: Operations): Promise<void> {
  for (const [user, { Authorization }] of [[ann, asAnn] as const, [bob, asBob] as const]) {
    const token = Authorization.replace('Token ', '');
    await operations.call('POST /api/auth/token', 200, { headers: asFirst, body: { token, user } });
  }
}
