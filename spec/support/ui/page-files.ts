// The paths of the page's files. Their names contain hashes, so they are read from the page itself.

import { Assets } from '../../../lib/admin/page-api/page-assets.ts'

/** The paths of the icon, the style and the scripts in the head of the page. */
export function pageFiles(): readonly string[] {
  const html = new Assets().page.content.toString()
  return [...html.matchAll(/(?:src|href)="(\/ui\/[^"]+)"/g)].map(([, path]) => path!)
}

/** The path of the script that starts the page. */
export function mainScript(): string {
  return pageFiles().find((path) => /\/main-\w+\.js$/.test(path))!
}
