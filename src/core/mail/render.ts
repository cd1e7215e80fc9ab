import { readable, type Block, type MailDocument, type MailStyle, type InlineText } from './document.js';
import { html, type Markup } from './markup.js';

/** A mail as it is sent. */
export interface RenderedMail {
  subject: string;
  html: string;
  text: string;
}

export const render = (document: MailDocument, style: MailStyle): RenderedMail => ({
  subject: document.subject,
  html: renderHtml(document, style),
  text: renderText(document, style),
});

/*
 * Programs that show mail know tables and styles on elements; most take everything else out. So there is no style sheet to rely
 * on: what is in `responsive` only helps those that heed it.
 */
const font = 'font-family:-apple-system,BlinkMacSystemFont,Segoe UI,Helvetica,Arial,sans-serif';
const mono = 'font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace';
const wraps = 'overflow-wrap:anywhere;word-break:break-word';
const small = `${font};font-size:12px;line-height:18px;color:#6b7280`;
const plainCell =
  'padding:6px 10px 6px 0;border-top:1px solid #e5e7eb;vertical-align:top;font-size:13px;line-height:19px;overflow-wrap:normal;word-break:normal';
const cell = `${plainCell};${wraps}`;
/** Words of a few letters stay whole, whatever is around the table: a column as narrow as one letter cannot be read. */
const cellOf = (value: string): string => (value.split(/\s/).some((word) => word.length > 24) ? cell : plainCell);
const responsive = '@media (max-width:480px){.room{padding:12px !important}.gap{padding:0 !important}}';

const renderHtml = ({ subject, title, colour, blocks }: MailDocument, { product }: MailStyle): string =>
  html`<!DOCTYPE html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width,initial-scale=1" />
        <meta name="color-scheme" content="light" />
        <title>${subject}</title>
        <style>
          ${responsive}
        </style>
      </head>
      <body style="margin:0;padding:0;background:#f3f4f6">
        <table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="background:#f3f4f6">
          <tr>
            <td class="gap" align="center" style="padding:24px 12px">
              <table
                role="presentation"
                width="100%"
                cellpadding="0"
                cellspacing="0"
                style="max-width:680px;table-layout:fixed;background:#ffffff;border:1px solid #e5e7eb;border-radius:6px;border-collapse:separate;overflow:hidden"
              >
                <tr>
                  <td
                    class="room"
                    style="padding:18px 24px;background:${colour};${font};font-size:18px;line-height:26px;font-weight:600;color:#ffffff;${wraps}"
                  >
                    ${title}
                  </td>
                </tr>
                <tr>
                  <td
                    class="room"
                    style="padding:20px 24px 8px;${font};font-size:15px;line-height:22px;color:#1f2937;${wraps}"
                  >
                    ${blocks.map(blockHtml)}
                  </td>
                </tr>
                <tr>
                  <td class="room" style="padding:12px 24px 18px;border-top:1px solid #e5e7eb;${small}">
                    Sent by ${product}.
                  </td>
                </tr>
              </table>
            </td>
          </tr>
        </table>
      </body>
    </html> `.text;

const piece = (given: InlineText): Markup => {
  if (typeof given === 'string') return html`${given}`;
  const { text, href, strong } = given;
  const inner = strong ? html`<strong>${text}</strong>` : html`${text}`;
  return href === undefined
    ? inner
    : html`<a href="${href}" style="color:#2563eb;text-decoration:underline">${inner}</a>`;
};

const heading = (title: string): Markup =>
  html`<div style="margin:18px 0 6px;font-size:13px;line-height:18px;font-weight:600;color:#374151">${title}</div>`;

function blockHtml(block: Block): Markup {
  switch (block.kind) {
    case 'paragraph':
      return html`<p style="margin:0 0 12px">${block.pieces.map(piece)}</p> `;
    case 'facts':
      return html`<table width="100%" cellpadding="0" cellspacing="0" style="margin:0 0 12px;table-layout:fixed">
        ${block.rows.map(
          ([name, ...pieces]) =>
            html`<tr>
              <th scope="row" align="left" width="30%" style="${cell};font-weight:400;color:#6b7280">${name}</th>
              <td style="${cell};color:#1f2937">${pieces.map(piece)}</td>
            </tr> `,
        )}
      </table> `;
    case 'table':
      return html`${heading(block.title)}
        <table width="100%" cellpadding="0" cellspacing="0" style="margin:0 0 12px">
          <tr>
            ${block.head.map((name) => html`<th scope="col" align="left" style="${plainCell};border-top:0;font-weight:400;color:#6b7280">${name}</th>`)}
          </tr>
          ${block.rows.map(
            (row) =>
              html`<tr>
                ${row.map((value) => html`<td style="${cellOf(value)};color:#1f2937">${value}</td>`)}
              </tr> `,
          )}
        </table> `;
    case 'file': {
      const name = block.href === undefined ? html`${block.name}` : piece({ text: block.name, href: block.href });
      const content =
        block.text === undefined
          ? html`<p style="margin:0 0 12px;${small}">${block.note}</p> `
          : html`<pre
              style="margin:0 0 12px;padding:10px 12px;background:#f9fafb;border:1px solid #e5e7eb;border-radius:4px;${mono};font-size:12px;line-height:17px;color:#111827;white-space:pre-wrap;${wraps}"
            >
${readable(block.text)}</pre> `;
      const note = block.text === undefined ? '' : html` <span style="${small};font-weight:400">${block.note}</span>`;
      return html`<div style="margin:18px 0 6px;font-size:13px;line-height:18px;font-weight:600;color:#374151">
          ${name}${note}
        </div>
        ${content}`;
    }
  }
}

const renderText = ({ title, blocks }: MailDocument, { product }: MailStyle): string =>
  [
    title,
    '='.repeat(Math.min(title.length, 72)),
    '',
    ...blocks.flatMap(blockText),
    '-- ',
    `Sent by ${product}.`,
    '',
  ].join('\n');

const pieceText = (given: InlineText): string =>
  typeof given === 'string' ? given : given.href === undefined ? given.text : `${given.text} <${given.href}>`;

function blockText(block: Block): string[] {
  switch (block.kind) {
    case 'paragraph':
      return [block.pieces.map(pieceText).join(''), ''];
    case 'facts':
      return [...block.rows.map(([name, ...pieces]) => `${name}: ${pieces.map(pieceText).join('')}`), ''];
    case 'table':
      return [block.title, ...block.rows.map((row) => `  ${row.filter((value) => value !== '').join('  |  ')}`), ''];
    case 'file': {
      const name = pieceText({ text: block.name, href: block.href });
      if (block.text === undefined) return [`${name}: ${block.note}`, ''];
      // Indented, so that no line of it can pass for one of the mail.
      const lines = readable(block.text).replace(/\n$/, '').split('\n');
      return [`${name} (${block.note})`, ...lines.map((line) => `  | ${line}`), ''];
    }
  }
}
