// How every event stream of the page is looked after.

import { MAX_STALL_MS } from '../base/kept-out.ts'
import type { Pace } from '../base/kept-out.ts'

export const PACE: Pace = { keepAliveMs: 15_000, maxStallMs: MAX_STALL_MS }
