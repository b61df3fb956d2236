// The version of the package this was built from.

import { createRequire } from 'node:module'

/** dist/lib/base/ is three folders below package.json. */
const manifest = createRequire(import.meta.url)('../../../package.json') as { version: string }

export const VERSION = manifest.version
