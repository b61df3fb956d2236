// gwctl version.

import { VERSION } from '../base/version.ts'

export function version(): void {
  process.stdout.write(`gwctl ${VERSION}\n`)
}
