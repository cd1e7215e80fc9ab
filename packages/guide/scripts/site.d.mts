import type MiniSearch from 'minisearch';
import type { Section } from '../src/search.mjs';

export interface Site {
  pages: { path: string; address: string; title: string; html: string }[];
  /** What pages show among their text. */
  pictures: { path: string; address: string }[];
  /** The menu of all pages. */
  groups: { title: string; pages: { address: string; title: string }[] }[];
  links: { from: string; href: string; isDead: boolean }[];
}
export function readSite(root: string): Site;
export function deadLinks(site: Pick<Site, 'links'>): string[];
export function indexOf(site: Pick<Site, 'pages'>): MiniSearch<Section>;
