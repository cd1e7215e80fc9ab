import { body, contract, del, get, path, post, query } from 'rest-contract/client';
import { RequestHistory } from '../records/history.js';
import { TaskHistoryUpdate } from '../records/task-ids.js';
import {
  DeadLetter,
  DeployUpdate,
  ElevatedAccessEvent,
  Resent,
  Webhook,
  WebhookResult,
  WebhookSummary,
} from '../records/webhooks.js';
import { int32, int64, list, optional, string, words } from '../schema.js';

/** Webhooks, and what waits for them. */
export const WebhooksApi = contract('WebhooksApi', {
  /** Lists the deploy updates that wait for a webhook. */
  queuedDeployUpdates: get(
    {
      /** Its id, as stored or as the type, a dash and the plain uri. */
      webhookId: query(string),
    },
    list(DeployUpdate),
    { path: 'deploy' },
  ),
  /** Lists the request updates that wait for a webhook, or for all of them. */
  queuedRequestUpdates: get(
    {
      /** Its id, as stored or as the type, a dash and the plain uri; absent: all webhooks. */
      webhookId: query(optional(string)),
    },
    list(RequestHistory),
    { path: 'request' },
  ),
  /** Lists the task updates that wait for a webhook. */
  queuedTaskUpdates: get(
    {
      /** Its id, as stored or as the type, a dash and the plain uri. */
      webhookId: query(string),
    },
    list(TaskHistoryUpdate),
    { path: 'task' },
  ),
  /** Lists the uses of elevated access that a webhook is to be told of. An addition of version 1.5 of this API. */
  queuedElevatedAccess: get(
    {
      /** Its id, as stored or as the type, a dash and the plain uri. */
      webhookId: query(string),
    },
    list(ElevatedAccessEvent),
    { path: 'elevated-access' },
  ),
  /** Lists the deploy updates that wait for a webhook. */
  queuedDeployUpdatesByPath: get(
    {
      /** Id of the webhook. */
      webhookId: path(string),
    },
    list(DeployUpdate),
    { path: 'deploy' },
  ),
  /** Lists the request updates that wait for a webhook. */
  queuedRequestUpdatesByPath: get(
    {
      /** Id of the webhook. */
      webhookId: path(string),
    },
    list(RequestHistory),
    { path: 'request' },
  ),
  /** Lists the task updates that wait for a webhook. */
  queuedTaskUpdatesByPath: get(
    {
      /** Id of the webhook. */
      webhookId: path(string),
    },
    list(TaskHistoryUpdate),
    { path: 'task' },
  ),
  /** Lists the registered webhooks. */
  list: get({}, list(Webhook), { path: '' }),
  /** Registers a webhook. One that exists (same type and uri) is left as it is. */
  register: post(
    {
      body: body(Webhook),
    },
    words('CREATED', 'EXISTED'),
    { path: '' },
  ),
  /** Removes a webhook with all that waits for it. */
  remove: del(
    {
      /** Its id, as stored or as the type, a dash and the plain uri. */
      webhookId: query(string),
    },
    words('DELETED', 'DIDNT_EXIST'),
    { path: '' },
  ),
  /** Removes a webhook with all that waits for it. */
  removeByPath: del(
    {
      /** Id of the webhook. */
      webhookId: path(string),
    },
    words('DELETED', 'DIDNT_EXIST'),
    { path: '' },
  ),
  /** Lists the webhooks with the number of updates that wait for each. */
  summary: get({}, list(WebhookSummary), { path: 'summary' }),
  /** Lists updates that were given up, newest first. An addition of Muster. */
  deadLetters: get(
    {
      /** Its id, as stored or as the type, a dash and the plain uri; absent: all webhooks. */
      webhookId: query(optional(string)),
      /** How many to answer, at most 1000; default 100. */
      count: query(optional(int32)),
      /** Which page, from 1. */
      page: query(optional(int32)),
    },
    list(DeadLetter),
    { path: 'dead-letters' },
  ),
  /**
   * Has updates that were given up wait again, the oldest first, and gives their webhook another chance at once. An addition of
   * Muster.
   */
  resend: post(
    {
      /** Its id, as stored or as the type, a dash and the plain uri. */
      webhookId: query(string),
      /** Numbers of updates, at most 1000; default: all of the webhook. */
      id: query(optional(list(int64))),
    },
    Resent,
    { path: 'dead-letters/resend' },
  ),
  /** Sends a webhook an update about nothing, at once, and tells what became of it. It has ten seconds. An addition of Muster. */
  test: post(
    {
      /** Its id, as stored or as the type, a dash and the plain uri. */
      webhookId: query(string),
    },
    WebhookResult,
    { path: 'test' },
  ),
});
