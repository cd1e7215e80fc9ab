import { webhookTypes, type WebhookType } from '../model/enums.js';

/** As forms encode: everything but letters, digits and "-._*", a space as '+'. */
const encodeForm = (text: string): string =>
  encodeURIComponent(text)
    .replaceAll(/[!'()~]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+');

/** One webhook exists per type and uri, so they make its id. */
export const makeWebhookId = (type: WebhookType, uri: string): string => `${type}-${encodeForm(uri)}`;

/**
 * The ids that a caller may mean: the stored form, or the type with the uri as it is. Clients send either, and paths
 * decode the stored form once on their way in.
 */
export function webhookIdCandidates(given: string): string[] {
  const type = webhookTypes.find((candidate) => given.startsWith(`${candidate}-`));
  return type ? [given, makeWebhookId(type, given.slice(type.length + 1))] : [given];
}
