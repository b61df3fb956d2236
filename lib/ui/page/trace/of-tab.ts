// What is traced in this tab, whichever page is shown.

import { ask } from '../api.ts'
import { Tracer } from './tracer.ts'

export const TRACER = new Tracer(ask)
