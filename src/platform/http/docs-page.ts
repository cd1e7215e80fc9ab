/*
 * Functions that run in the browser, within Swagger UI. The page has only their text: they use nothing of this module, and no function in
 * them has a name, since the bundler wraps named functions in a helper of its own.
 */

interface SentByPage {
  method: string;
  body?: unknown;
  headers?: Record<string, string>;
}

/**
 * Browsers refuse to send what the document allows older clients: a read with a body. A token is
 * given to the page as it was shown to its bearer, without the word before it.
 */
export const asBrowsersSend = (request: SentByPage): object => {
  if (request.method === 'GET') delete request.body;
  const proof = request.headers?.['Authorization'];
  if (proof && !proof.includes(' ')) request.headers!['Authorization'] = `Token ${proof}`;
  return request;
};

/** The page's own program. */
declare const SwaggerUIBundle: { plugins: { DownloadUrl: unknown } };

/** The groups of the page, as far as the filter uses them: maps and lists of Immutable.js. */
interface TaggedOperations {
  map(change: (tag: Tag, name: string) => Tag): TaggedOperations;
  filter(keep: (tag: Tag) => boolean): TaggedOperations;
}
interface Tag {
  get(name: 'operations'): { filter(keep: (operation: ListedOperation) => boolean): { size: number } };
  set(name: 'operations', value: { size: number }): Tag;
}
interface ListedOperation {
  get(name: 'method' | 'path'): string;
  getIn(path: readonly string[]): unknown;
}

/**
 * The page's own filter box finds names of groups, as they are written; this one finds whatever stands in the
 * line of an operation, too.
 */
export const findOperations = (): unknown[] => [
  // In the place of the list of plugins that the page has without it.
  SwaggerUIBundle.plugins.DownloadUrl,
  {
    fn: Object.fromEntries([
      [
        'opsFilter',
        (groups: TaggedOperations, phrase: string): TaggedOperations =>
          groups
            .map((tag, name) =>
              name.toLowerCase().includes(phrase.trim().toLowerCase())
                ? tag
                : tag.set(
                    'operations',
                    tag
                      .get('operations')
                      .filter((each) =>
                        [each.get('method'), each.get('path'), each.getIn(['operation', 'summary'])]
                          .join(' ')
                          .toLowerCase()
                          .includes(phrase.trim().toLowerCase()),
                      ),
                  ),
            )
            .filter((tag) => tag.get('operations').filter(() => true).size > 0),
      ],
    ]),
  },
];
