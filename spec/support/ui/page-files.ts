// Where the files of the page are served: their names have hashes, so the page itself is asked for them.

import { Assets } from '../../../lib/admin/page-api/page-assets.ts'

/** The paths of what the head of the page loads: its icon, its style and its scripts. */
export function pageFiles(): readonly string[] {
  const html = new Assets().page.content.toString()
  return [...html.matchAll(/(?:src|href)="(\/ui\/[^"]+)"/g)].map(([, path]) => path!)
}

/** The path of the script that starts the page. */
export function mainScript(): string {
  return pageFiles().find((path) => /\/main-\w+\.js$/.test(path))!
}
