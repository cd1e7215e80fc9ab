import type { IndexViewDto } from './dto/index-view.dto.js';

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
/** Text as a part of HTML, between tags or as the value of an attribute in quotes. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character]!);

/** JSON that nothing in it can end early: neither an end tag nor a comment, whatever the settings say. */
const escapeJson = (value: unknown): string =>
  JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });

const sections = [
  { id: 'deploys', title: 'Pending deploys' },
  { id: 'requests', title: 'Requests' },
  { id: 'tasks', title: 'Tasks' },
  { id: 'slaves', title: 'Slaves' },
] as const;

/**
 * The page with everything but its data, which its script asks the API for. There is no script in it, as the content policy
 * wants: what the script has to know stands in a block of data.
 */
export function renderPage(view: IndexViewDto): string {
  const text = escapeHtml;
  const file = (name: string): string => text(`${view.staticRoot}/${name}`);
  const script = (address: string): string => `<script defer src="${address}"></script>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${text(view.title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${file(view.appCssPath)}">
<script type="application/json" id="index-view">${escapeJson(view)}</script>
${script(file(view.vendorJsPath))}
${script(file(view.appJsPath))}
${view.extraScript === '' ? '' : script(text(view.extraScript))}
</head>
<body class="env-color-${text(view.navColor)}">
<a class="skip" href="#main">To the content</a>
<header>
<h1><a href="${text(view.appRoot)}">${text(view.title)}</a></h1>
<nav aria-label="Sections">
${sections.map(({ id, title }) => `<a href="#${id}">${title}</a>`).join('\n')}
</nav>
<nav aria-label="Elsewhere" id="elsewhere"><a href="${text(view.apiDocs)}">Swagger UI</a></nav>
</header>
<main id="main">
<p id="status" role="status">Loading</p>
<noscript><p>This page asks the API for its data, which needs JavaScript. The API itself is described in
<a href="${text(view.apiDocs)}">Swagger UI</a>.</p></noscript>
<dl id="figures" aria-label="The service in figures"></dl>
${sections.map(renderSection).join('\n')}
</main>
</body>
</html>
`;
}

const renderSection = ({
  id,
  title,
}: (typeof sections)[number]): string => `<section id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${title}</h2>
<div class="scroll" tabindex="0" role="group" aria-labelledby="${id}-title"><table><thead></thead><tbody></tbody></table></div>
<p class="note"></p>
</section>`;
