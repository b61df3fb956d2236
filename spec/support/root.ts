// The folder of package.json, relative to dist/spec/support/.

import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
