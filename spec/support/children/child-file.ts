// The paths of the built programs of this folder, which process.execPath runs.

import { fileURLToPath } from 'node:url'

/** `name` is without its extension: 'mcp-server'. */
export function childFile(name: string): string {
  return fileURLToPath(new URL(`./${name}.js`, import.meta.url))
}
