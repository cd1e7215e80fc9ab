import type { Operations } from './operations.js';

/** Lets the caller that sends it make tokens for others. */
const firstToken = 'the-first-token-of-this-installation';
const bearing = (token: string) => ({ Authorization: `Token ${token}` });

/** Every caller has to say who it is; members of ops are administrators. */
export const guarded = {
  settings: { auth: { enabled: true, adminGroups: ['ops'], bootstrapToken: firstToken } },
};
export const asFirst = bearing(firstToken);
/** An administrator. */
export const ann = { id: 'ann', name: 'ann', email: 'ann@example.com', groups: ['ops'] };
export const asAnn = bearing('made when she is introduced');
/** A member of the group web, and of nothing else. */
export const bob = { id: 'bob', name: 'bob', email: 'bob@example.com', groups: ['web'] };
export const asBob = bearing('made when he is introduced');
export const asNobody = { Authorization: 'Token that-nobody-was-given' };

/** Ann and Bob get their tokens. */
export async function introduce(operations: Operations): Promise<void> {
  for (const [user, header] of [[ann, asAnn] as const, [bob, asBob] as const]) {
    const made = await operations.call<{ token: string }>('POST /api/auth/token', 200, {
      headers: asFirst,
      body: { user },
    });
    Object.assign(header, bearing(made.token));
  }
}
