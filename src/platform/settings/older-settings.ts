/**
 * Keys of an older installation's settings file that are not known here, each with what became of it. The refusal at the start and
 * docs/migration.md say these sentences.
 */
export const olderSettings: Readonly<Record<string, string>> = {
  maxQueuedUpdatesPerWebhook: 'it is `webhooks.maxQueuedUpdatesPerWebhook` now',
  deleteUndeliverableWebhooksAfterHours: 'it is `webhooks.deleteUndeliverableWebhooksAfterHours` now',
  maxConcurrentWebhooks: 'it is `webhooks.maxConcurrent` now',
  'webhookQueue.maxZkQueuedWebhooksPerParentNode': 'it is `webhooks.maxWaitingUpdatesPerWebhook` now',
  'webhookQueue.queueType': 'it is gone: updates wait in the database, and go to webhooks by HTTP only',
  'webhookQueue.snsTopics': 'it is gone: updates go to webhooks by HTTP only, not to topics',
  waitForListeners: 'it is gone: updates for webhooks are always stored with the change itself',
  listenerThreadpoolSize: 'it is gone: there are no threads to count; `webhooks.maxConcurrent` limits the deliveries',
  maxTasksPerOfferPerRequest:
    'it is gone: it never had an effect; `cluster.maxTasksPerOffer` limits the tasks of a machine in a round',
  'customExecutor.numCpus':
    'it is gone: no separate executor runs beside a task; a deploy may still have `customExecutorResources`',
  'customExecutor.memoryMb':
    'it is gone: no separate executor runs beside a task; a deploy may still have `customExecutorResources`',
  'customExecutor.diskMb':
    'it is gone: no separate executor runs beside a task; a deploy may still have `customExecutorResources`',
  cacheForWebForMillis:
    'it is gone: reads come from the database; only the state may be as old as `saveStateEverySeconds`',
  cacheOffers: 'it is gone: there are no offers, the leader knows its machines',
  cacheOffersForMillis: 'it is gone: there are no offers, the leader knows its machines',
  offerCacheSize: 'it is gone: there are no offers, the leader knows its machines',
  'cluster.offerTimeout': 'it is gone: there are no offers, the leader knows its machines',
  'cluster.offerLockTimeout': 'it is gone: there are no offers, the leader knows its machines',
  'cluster.offerLoopTimeoutMillis': 'it is gone: there are no offers, the leader knows its machines',
  'cluster.offerLoopRequestTimeoutMillis': 'it is gone: there are no offers, the leader knows its machines',
  'cluster.reconnectTimeoutMillis': 'it is gone: silent machines are asked again without limit',
  'cluster.statusUpdateConcurrencyLimit': 'it is gone: updates are applied in batches, in their order',
  'cluster.maxStatusUpdateQueueSize': 'it is gone: updates wait at their agents until they are applied',
  statusQueueNearlyFull: 'it is gone: updates wait at their agents until they are applied',
  checkClusterHeartbeatEverySeconds:
    'it is gone: agents are asked continuously; an agent that is silent for 25 seconds gets no tasks',
  maxMissedClusterHeartbeats:
    'it is gone: agents are asked continuously; an agent that is silent for 25 seconds gets no tasks',
  schedulerStartupConcurrency: 'it is gone: a leader reads all requests at once when it begins',
  threadpoolShutdownDelayInSeconds: 'it is gone: an instance that stops hands the lead over at once',
  requestCacheTtlInSeconds: 'it is gone: late tasks are counted for each call',
  taskHistoryQueryUsesZkFirst: 'it is gone: live and ended tasks are read together, in one order',
  proxyRunNowToLeader: 'it is gone: every instance serves every operation',
  allowEmptyRequestInstances: 'it is gone: a request without `instances` has one',
  'database.connectionLostMillis':
    'it is gone: without its database an instance gives the lead back at once, and reconnects without limit',
};
