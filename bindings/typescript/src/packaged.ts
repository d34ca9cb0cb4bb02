// The program of this package, which npm installs as a package for the system.

import { createRequire } from "node:module";

/** The package with the program for this system. It may not exist. */
export const PLATFORM_PACKAGE = `@spillgate/${process.platform}-${process.arch}`;

/** The path of the program in the package for this system, if it is installed. */
export function packaged(): string | undefined {
  try {
    return createRequire(import.meta.url).resolve(`${PLATFORM_PACKAGE}/bin/spillgate`);
  } catch {
    return undefined;
  }
}
