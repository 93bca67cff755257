#include "watched.h"
int main(void){return 0;}
