// The version of the package.

import { createRequire } from 'node:module'

/** dist/lib/core/ is three folders below package.json. */
const manifest = createRequire(import.meta.url)('../../../package.json') as { version: string }

export const VERSION = manifest.version
