// Where the programs of this folder lie once built: run them with process.execPath.

import { fileURLToPath } from 'node:url'

/** `name` without its ending: 'mcp-server'. */
export function childFile(name: string): string {
  return fileURLToPath(new URL(`./${name}.js`, import.meta.url))
}
