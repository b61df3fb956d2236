// The folder of package.json, seen from dist/spec/support/.

import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
