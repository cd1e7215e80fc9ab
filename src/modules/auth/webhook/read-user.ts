import { z } from 'zod';
import type { User } from '../../../core/authorization/index.js';

export interface AnswerForm {
  parser: 'WRAPPED' | 'RAW';
  /** Domain of the e-mail addresses of RAW users. */
  defaultEmailDomain?: string;
}

const names = z.array(z.string()).nullish();
const Wrapped = z.object({
  user: z
    .object({
      id: z.string().min(1),
      name: z.string().nullish(),
      email: z.string().nullish(),
      groups: names,
      scopes: names,
      authenticated: z.boolean().nullish(),
    })
    .nullish(),
  error: z.string().nullish(),
});
const Raw = z.object({ uid: z.string().min(1), groups: names, scopes: names });

/** The user in the answer of a verification service, or why there is none. */
export function readUser(text: string, { parser, defaultEmailDomain }: AnswerForm): User | string {
  const content = parse(text);
  if (parser === 'WRAPPED') {
    const answer = Wrapped.safeParse(content);
    if (!answer.success) return 'the verification service answered something else than a user';
    const { user, error } = answer.data;
    if (!user?.authenticated) return error ?? 'the verification service knows no such user';
    const { id, name, email, groups, scopes } = user;
    return {
      id,
      name: name ?? undefined,
      email: email ?? undefined,
      groups: groups ?? [],
      scopes: scopes ?? [],
      authenticated: true,
    };
  }
  const answer = Raw.safeParse(content);
  if (!answer.success) return 'the verification service answered something else than a user';
  const { uid, groups, scopes } = answer.data;
  const email = defaultEmailDomain === undefined ? undefined : `${uid}@${defaultEmailDomain}`;
  return { id: uid, name: uid, email, groups: groups ?? [], scopes: scopes ?? [], authenticated: true };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
