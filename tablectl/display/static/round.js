// A round's page needs no script to be read; this one prints it, in the colours that this screen has.

import { choices, learn, settle } from "./common.js";

settle();
document.getElementById("print")?.addEventListener("click", () => print());
await learn(document.documentElement.lang);
choices();
